// What a rank does between its calls: it loads, computes and writes, and what goes wrong there or with its process.
#pragma once

#include <string>

#include "job.h"

class Host {
 public:
  explicit Host(Job& job) : job_(job) {}

  // Makes the batch ready. A slow, stalling or dead loader is here.
  void Load();
  // `share` of a step's time. Slow ranks, pauses and drifts are here, and what ends or stops a process.
  void Compute(double share);
  // Writes the own part of a checkpoint, into $SCENARIO_DISK where it is set; ends the process if it cannot.
  void WriteCheckpoint();

  static void Sleep(double ms);
  static void Burn(double ms);  // of the CPU's time

 private:
  void Prepare();
  void Save();
  double Slowdown();
  double Length();
  void EndOrStop();
  void WaitForDeadWorker();
  void Freeze();
  void JoinCgroup();
  void ShareCpu();
  void WriteSlowly();

  Job& job_;
  bool told_ = false, joined_ = false;
};
