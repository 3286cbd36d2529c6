// Settings that ought to be the same on all ranks of a job where some have others than most.
#pragma once

#include <string>
#include <vector>

#include "analyzer/context/context.h"
#include "analyzer/launch/job_settings.h"

namespace ddbg::analyzer {

struct OddSetting {
  JobSetting::Sort sort = JobSetting::kVariable;
  std::string key;
  std::string usual, odd;           // values; "" where it is not set. On a tie `usual` is the first rank's.
  std::string sentence;             // "NCCL_IB_HCA is mlx5_1 on ranks 0, 2, mlx5_0 on rank 1"
  std::vector<int32_t> ranks;       // that differ from more than half of all, ascending; empty on a tie
  std::vector<int32_t> both_sides;  // on a tie: all
  size_t process = kNoIndex;        // the first that differs

  // "version_mismatch" or "env_mismatch".
  const char* kind() const {
    return sort == JobSetting::kVersion || sort == JobSetting::kBuild ? "version_mismatch" : "env_mismatch";
  }
};

// Of these processes, by sort and key. What has another value on nearly every rank is meant to and is left out, as is a
// build that is not known of all.
std::vector<OddSetting> OddSettings(const Context& context, const std::vector<size_t>& processes,
                                    SettingReader reader = SettingReader::kAny);

// The same of all processes that communicate, or are a rank and have not come to that yet.
std::vector<OddSetting> OddSettings(const Context& context, SettingReader reader = SettingReader::kAny);

// What a difference alone proves where a start fails: versions more than variables, a majority more than a tie.
double ConfidenceIn(const OddSetting& setting);

}  // namespace ddbg::analyzer
