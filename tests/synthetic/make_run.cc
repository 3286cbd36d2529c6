// Writes a made-up run of many ranks in the real file format, with a fault at a place that a truth file names.
//
//   synthetic_run OUT [--ranks N] [--seconds S] [--rate CALLS] [--seed K] [--mpi] [--live]
//                     [--fault skip|extra|count|killed|straggler|none] [--bad-rank R] [--bad-step K] …
//
// Makes OUT/synthetic-<seed>/a0/rank-*.ddbg, OUT/latest and OUT/truth.json.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "tests/synthetic/job.h"

namespace {

namespace fs = std::filesystem;
using ddbg::synthetic::Options;
using ddbg::synthetic::Truth;

void WriteTruth(const std::string& path, const Options& options, const Truth& truth) {
  FILE* file = fopen(path.c_str(), "w");
  if (file == nullptr) return perror(path.c_str());
  fprintf(file,
          "{\"ranks\": %d, \"seconds\": %.3f, \"steps\": %d, \"records\": %llu, \"api\": \"%s\", \"fault\": \"%s\",\n"
          " \"verdict\": \"%s\"",
          options.ranks, truth.seconds, truth.steps, static_cast<unsigned long long>(truth.records),
          options.mpi ? "MPI" : "NCCL", options.fault.c_str(), truth.verdict.c_str());
  // A rank of MPI waits in the very next call, so that nothing says which one before it was left out.
  if (truth.rank >= 0)
    fprintf(file, ", \"kinds\": [\"%s\"%s], \"class\": \"%s\", \"culprit_ranks\": [%d], \"step\": %d",
            truth.kind.c_str(), options.mpi && options.fault == "skip" ? ", \"argument_mismatch\"" : "",
            truth.failure_class.c_str(), truth.rank, truth.step);
  if (truth.seq >= 0)
    fprintf(file, ", \"comm_uid\": \"%016llx\", \"seq\": %lld", static_cast<unsigned long long>(truth.comm_uid),
            static_cast<long long>(truth.seq));
  if (!truth.call.empty()) fprintf(file, ", \"call\": \"%s\"", truth.call.c_str());
  fprintf(file, "}\n");
  fclose(file);
}

// A file a rank, all of them open.
bool AllowFiles(int files) {
  rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  auto needed = static_cast<rlim_t>(files) + 64;
  if (limit.rlim_cur >= needed) return true;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, needed);
  return setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= needed;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Writes a made-up run of many ranks with a planted fault."};
  app.add_option("OUT", options.out, "Directory of runs")->required();
  app.add_option("--ranks", options.ranks)->check(CLI::Range(2, 65536));
  app.add_option("--seconds", options.seconds);
  app.add_option("--rate", options.rate, "Calls a second and rank");
  app.add_option("--seed", options.seed);
  app.add_flag("--mpi", options.mpi, "MPI instead of NCCL and CUDA");
  app.add_option("--fault", options.fault)
      ->check(CLI::IsMember({"none", "skip", "extra", "count", "killed", "straggler"}));
  app.add_option("--bad-rank", options.bad_rank);
  app.add_option("--bad-step", options.bad_step);
  app.add_option("--ranks-per-host", options.ranks_per_host)->check(CLI::PositiveNumber);
  app.add_option("--flush-seconds", options.flush_s, "Time of one chunk of a file");
  app.add_option("--hang-seconds", options.hang_s, "From a hang to its end by SIGTERM");
  app.add_flag("--live", options.live, "As of a job that still runs: no ends");
  CLI11_PARSE(app, argc, argv);
  if (options.bad_rank >= options.ranks)
    return fprintf(stderr, "no rank %d of %d\n", options.bad_rank, options.ranks), 2;
  if (!AllowFiles(options.ranks)) return fprintf(stderr, "cannot have %d files open (ulimit -Hn)\n", options.ranks), 1;
  options.out = fs::absolute(options.out).lexically_normal();
  std::string run = "synthetic-" + std::to_string(options.seed);
  fs::path dir = fs::path(options.out) / run / "a0";
  fs::remove_all(dir);
  fs::create_directories(dir);
  fs::remove(fs::path(options.out) / "latest");
  fs::create_symlink(run, fs::path(options.out) / "latest");
  Truth truth = ddbg::synthetic::Job(options, dir).Run();
  WriteTruth(fs::path(options.out) / "truth.json", options, truth);
  printf("%s: %llu records, %d steps, %.1f s\n", dir.c_str(), static_cast<unsigned long long>(truth.records),
         truth.steps, truth.seconds);
  return 0;
}
