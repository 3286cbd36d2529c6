// The shapes of a job: each runs its loop on MPI_COMM_WORLD to the end.
#pragma once

#include "comm.h"
#include "host.h"
#include "job.h"

// Buckets of gradients in data-parallel groups, activations in tensor-parallel ones, checkpoints, evaluation on rank 0.
void DataParallel(Job& job, Comm& world);
// A stage a rank; one forward, one backward, blocking sends.
void Pipeline(Job& job, Comm& world);
// A ring of neighbours that exchange borders without blocking; a residual for all.
void Halo(Job& job, Comm& world);
// A mixture of experts: as many tokens to each as the gate says.
void Experts(Job& job, Comm& world);
// Many steps of one's own, then an average.
void LocalSgd(Job& job, Comm& world);
// Rank 0 gives out work to whoever asks; healthy only.
void TaskFarm(Job& job, Comm& world);
// Requests of all kinds, duplicates, probes, two lines for one call; healthy only.
void Medley(Job& job, Comm& world);

// At the end of a loop.
void Evaluate(Job& job, Host& host, Comm& world);
