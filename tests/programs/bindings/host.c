// Loads a plug-in and calls its run(): host FILE, or host FILE deep with RTLD_DEEPBIND.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | (argc > 2 ? RTLD_DEEPBIND : 0));
  void (*run)(void) = plugin ? (void (*)(void))dlsym(plugin, "run") : NULL;
  if (!run) return printf("%s\n", dlerror()), 1;
  run();
  return 0;
}
