#include "job.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "comm.h"
#include "ddbg.h"

namespace {

Options Parse(int argc, char** argv) {
  constexpr option kOptions[] = {{"shape", 1, nullptr, 'p'},
                                 {"fault", 1, nullptr, 'f'},
                                 {"bad-rank", 1, nullptr, 'r'},
                                 {"bad-step", 1, nullptr, 's'},
                                 {"steps", 1, nullptr, 'k'},
                                 {"step-ms", 1, nullptr, 'm'},
                                 {"seed", 1, nullptr, 'i'},
                                 {"truth", 1, nullptr, 't'},
                                 {"healthy", 0, nullptr, 'h'},
                                 {"marks", 0, nullptr, 'a'},
                                 {}};
  Options options;
  for (int option; (option = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    switch (option) {
      case 'p': options.shape = optarg; break;
      case 'f': options.fault = optarg; break;
      case 'r': options.bad_rank = atoi(optarg); break;
      case 's': options.bad_step = atoi(optarg); break;
      case 'k': options.steps = atoi(optarg); break;
      case 'm': options.step_ms = atof(optarg); break;
      case 'i': options.seed = atoi(optarg); break;
      case 't': options.truth = optarg; break;
      case 'h': options.healthy = true; break;
      case 'a': options.marks = true; break;
      default: exit(2);
    }
  }
  return options;
}

int Launched(std::initializer_list<const char*> names, int otherwise) {
  for (const char* name : names)
    if (const char* value = getenv(name)) return atoi(value);
  return otherwise;
}

std::string Quoted(const std::string& text) { return "\"" + text + "\""; }

}  // namespace

Job::Job(int argc, char** argv)
    : options(Parse(argc, argv)),
      rank(Launched({"OMPI_COMM_WORLD_RANK", "PMI_RANK"}, 0)),
      size(Launched({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}, 1)),
      random_(options.seed * 1000 + rank),
      common_(options.seed) {
  scale = Common(0, 1) < 0.5 ? 1 : 50;
  opportunities_ = static_cast<int>(Common(0, 3));
}

bool Job::NextStep() {
  ++step;
  if (step > 0 && step < options.steps && Breaks("uneven")) {
    --step;  // by its marks it is still in the one before
    TellAnywhere("call");
    return false;
  }
  if (step >= options.steps) return false;
  if (options.marks) ddbg_step(step);
  return true;
}

void Job::BeginPhase(const char* name) const {
  if (options.marks) ddbg_phase_begin(name);
}

void Job::EndPhase(const char* name) const {
  if (options.marks) ddbg_phase_end(name);
}

bool Job::Has(const char* name) const { return options.fault == name && (options.healthy || rank == options.bad_rank); }

bool Job::Strikes(const char* name) {
  if (struck_ || !Since(name) || opportunities_-- > 0) return false;
  return struck_ = true;
}

std::string Job::PlaceOf(const Comm& comm) const {
  return "{\"comm\": " + Quoted(comm.name()) + ", \"seq\": " + std::to_string(comm.next_seq()) + "}";
}

void Job::Tell(const Comm* comm, const std::string& call, const std::string& field, int peer) {
  Write(comm ? PlaceOf(*comm) : "", call, field, peer);
}

void Job::TellAnywhere(const std::string& field) {
  std::string places;
  for (const Comm* comm : comms_) places += (places.empty() ? "" : ", ") + PlaceOf(*comm);
  Write(places, "", field, -1);
}

// Beside it and renamed, so that the runner never reads a half.
void Job::Write(const std::string& places, const std::string& call, const std::string& field, int peer) {
  if (options.healthy || options.truth.empty()) return;
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  std::string part = options.truth + ".part";
  FILE* file = fopen(part.c_str(), "w");
  if (!file) exit(2);
  fprintf(file,
          "{\"rank\": %d, \"peer\": %d, \"step\": %d, \"places\": [%s], \"call\": %s, \"field\": %s, \"t_ns\": %lld}\n",
          rank, peer, step, places.c_str(), Quoted(call).c_str(), Quoted(field).c_str(),
          now.tv_sec * 1'000'000'000LL + now.tv_nsec);
  fclose(file);
  rename(part.c_str(), options.truth.c_str());
}

double Job::Random(double from, double to) { return std::uniform_real_distribution<double>(from, to)(random_); }
double Job::Common(double from, double to) { return std::uniform_real_distribution<double>(from, to)(common_); }
