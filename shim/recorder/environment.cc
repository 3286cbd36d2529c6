#include "shim/recorder/environment.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

namespace ddbg::shim {

bool PutIntoEnvironment(char* entry) noexcept {
  size_t name_size = strchr(entry, '=') + 1 - entry, count = 0, place = 0;
  bool is_there = false;
  for (; environ && environ[count]; ++count) {
    if (is_there || strncmp(environ[count], entry, name_size) != 0) continue;
    is_there = true;
    place = count;
  }
  if (!is_there) place = count;
  void* memory = mmap(nullptr, (count + 2) * sizeof(char*), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  char** list = static_cast<char**>(memory);
  if (count) memcpy(list, environ, count * sizeof(char*));
  list[place] = entry;
  environ = list;
  return true;
}

}  // namespace ddbg::shim
