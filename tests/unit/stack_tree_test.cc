#include "analyzer/report/stack_tree.h"

#include "tests/unit/made_run.h"

namespace ddbg::analyzer {
namespace {

class StackTreeTest : public testing::Test {
 protected:
  StackTree Tree(const analyzer::Run& run, StackSelection selection = {}) {
    return StackTree(run, Timeline(run), selection, &views_);
  }

  static std::vector<const StackTree::Node*> Leaves(const StackTree& tree) {
    std::vector<const StackTree::Node*> leaves;
    for (const StackTree::Node& node : tree.nodes())
      if (node.leaf) leaves.push_back(&node);
    return leaves;
  }

  Symbolizer symbolizer_;
  StackViews views_{&symbolizer_};
};

TEST_F(StackTreeTest, RanksInOneCallAreOneLeaf) {
  analyzer::Run run =
      MadeRun("ranks 4\nall: Barrier @step<main\nall: Allreduce count=1 type=MPI_INT op=SUM @step<main open\n");
  StackTree tree = Tree(run);
  auto leaves = Leaves(tree);
  ASSERT_EQ(leaves.size(), 1u);
  EXPECT_EQ(leaves[0]->call, "MPI_Allreduce");
  EXPECT_EQ(leaves[0]->seq, 1);
  EXPECT_EQ(leaves[0]->state, StackTree::kIn);
  EXPECT_EQ(leaves[0]->processes, (std::vector<size_t>{0, 1, 2, 3}));
  EXPECT_EQ(tree.nodes().size(), 4u);  // root, main, step, the call
}

TEST_F(StackTreeTest, CommonOuterFramesAreMerged) {
  analyzer::Run run = MadeRun(
      "ranks 4\n0-2: Allreduce count=1 type=MPI_INT op=SUM @reduce<step<main open\n3: Recv peer=0 tag=1 count=1 "
      "type=MPI_INT @load<step<main open\n");
  StackTree tree = Tree(run);
  // root, main, step, then reduce and its call, load and its call
  EXPECT_EQ(tree.nodes().size(), 7u);
  size_t both = 0;
  for (const StackTree::Node& node : tree.nodes()) both += !node.leaf && node.processes.size() == 4;
  EXPECT_EQ(both, 3u);
  EXPECT_EQ(Leaves(tree)[1]->processes, (std::vector<size_t>{3}));
}

TEST_F(StackTreeTest, WhoIsInNoCallIsShownAfterItsLast) {
  analyzer::Run run = MadeRun("ranks 2\nall: Barrier @step\n0: Barrier @step open\n");
  auto tree = Tree(run);
  auto leaves = Leaves(tree);
  ASSERT_EQ(leaves.size(), 2u);
  EXPECT_EQ(leaves[0]->state, StackTree::kIn);
  EXPECT_EQ(leaves[1]->state, StackTree::kAfter);
  EXPECT_EQ(leaves[1]->processes, (std::vector<size_t>{1}));
}

TEST_F(StackTreeTest, InFlightLeavesOutWhoIsInNoCall) {
  analyzer::Run run = MadeRun("ranks 2\nall: Barrier @step\n0: Barrier @step open\n");
  StackSelection selection;
  selection.in_flight = true;
  StackTree tree = Tree(run, selection);
  EXPECT_EQ(Leaves(tree).size(), 1u);
  EXPECT_EQ(tree.without_call(), (std::vector<size_t>{1}));
}

TEST_F(StackTreeTest, AtAMomentIsTheCallThatCoversIt) {
  analyzer::Run run = MadeRun(
      "ranks 2\nall: Barrier @first\nat 10\nall: Bcast root=0 count=1 type=MPI_INT @second\nat 20\nall: Barrier "
      "@third\n");
  Timeline timeline(run);
  StackSelection selection;
  selection.mode = StackSelection::kAt;
  selection.at_ns = timeline.At(0, run.processes[0].calls[1].start_ns) + 50'000;
  StackTree tree = Tree(run, selection);
  auto leaves = Leaves(tree);
  ASSERT_EQ(leaves.size(), 1u);
  EXPECT_EQ(leaves[0]->call, "MPI_Bcast");
  EXPECT_EQ(leaves[0]->state, StackTree::kIn);
  selection.at_ns += 5'000'000'000;
  StackTree between = Tree(run, selection);
  EXPECT_EQ(Leaves(between)[0]->call, "MPI_Bcast");
  EXPECT_EQ(Leaves(between)[0]->state, StackTree::kAfter);
}

TEST_F(StackTreeTest, AWindowCountsCallsAndTheTimeInIt) {
  analyzer::Run run = MadeRun("ranks 2\nrepeat 5 {\nall: Barrier @step\n}\n");
  Timeline timeline(run);
  StackSelection selection;
  selection.mode = StackSelection::kWindow;
  selection.from_ns = 0;
  selection.to_ns = timeline.end_ns() + 1'000'000;
  StackTree tree = Tree(run, selection);
  ASSERT_EQ(Leaves(tree).size(), 1u);
  EXPECT_EQ(Leaves(tree)[0]->calls, 10u);
  EXPECT_EQ(Leaves(tree)[0]->total_ns, 10 * 100'000);
  // Half of the first call of rank 0, and what follows.
  selection.from_ns = 50'000;
  StackTree half = Tree(run, selection);
  EXPECT_EQ(Leaves(half)[0]->total_ns, 10 * 100'000 - 50'000 - 49'000);
}

TEST_F(StackTreeTest, OnlyTheRanksThatWereAskedFor) {
  analyzer::Run run = MadeRun("ranks 4\nall: Barrier @step open\n");
  StackSelection selection;
  selection.part.ranks = {1, 3};
  StackTree tree = Tree(run, selection);
  EXPECT_EQ(Leaves(tree).size(), 1u);
  EXPECT_EQ(tree.nodes()[0].processes, (std::vector<size_t>{1, 3}));
}

TEST_F(StackTreeTest, ThreadsOfARankAreInSeveralPlaces) {
  analyzer::Run run = MadeRun(
      "ranks 1 nccl\nnccl dp:0\n0: cudaStreamSynchronize stream=1 @a open thread=1\n0: cudaDeviceSynchronize @b open "
      "thread=2\n");
  StackTree tree = Tree(run);
  EXPECT_EQ(Leaves(tree).size(), 2u);
}

TEST_F(StackTreeTest, ThousandsOfRanksMakeNoMoreNodes) {
  std::string ranks = "ranks 3000\nall: Barrier @step<main open\n";
  analyzer::Run run = MadeRun(ranks);
  StackTree tree = Tree(run);
  EXPECT_EQ(tree.nodes().size(), 4u);
  EXPECT_EQ(tree.nodes().back().processes.size(), 3000u);
}

}  // namespace
}  // namespace ddbg::analyzer
