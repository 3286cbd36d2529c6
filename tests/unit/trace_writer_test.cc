#include "proto/trace_writer.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <random>

#include "proto/crc32c.h"
#include "proto/trace_format.h"
#include "tests/unit/scratch_dir.h"
#include "tests/unit/trace_file.h"

namespace ddbg {
namespace {

TEST(Crc32c, AgreesWithThePublishedCheckValue) {
  EXPECT_EQ(Crc32c(0, "123456789", 9), 0xe3069283u);
  EXPECT_EQ(internal::Crc32cSoftware(0, "123456789", 9), 0xe3069283u);
}

TEST(Crc32c, IsTheSameInSoftwareAndInAnyPieces) {
  std::mt19937 random(3);
  std::string bytes(300, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  for (size_t size = 0; size <= bytes.size(); ++size) {
    uint32_t whole = Crc32c(0, bytes.data(), size);
    EXPECT_EQ(internal::Crc32cSoftware(0, bytes.data(), size), whole);
    size_t cut = size == 0 ? 0 : random() % size;
    EXPECT_EQ(Crc32c(Crc32c(0, bytes.data(), cut), bytes.data() + cut, size - cut), whole);
  }
}

TEST(TraceWriter, WritesWhatTheReaderReads) {
  ScratchDir dir;
  std::string path = dir / "rank-00000.ddbg";
  Result<TraceWriter> writer = TraceWriter::Create(path, "process");
  ASSERT_TRUE(writer.ok()) << writer.error().text;
  std::string large(3'000'000, 'x');
  ASSERT_TRUE(writer->Append("one", 5, 9).ok());
  ASSERT_TRUE(writer->Append(large, -7, 1).ok());
  ASSERT_TRUE(writer->Append("", 0, 0).ok());

  ReadTrace read = ReadFile(path);

  EXPECT_EQ(read.refusal, "");
  EXPECT_TRUE(read.damage.empty());
  std::vector<ReadTrace::Chunk> expected = {{"process", 0, 0}, {"one", 5, 9}, {large, -7, 1}, {"", 0, 0}};
  EXPECT_EQ(read.chunks, expected);
  EXPECT_EQ(writer->bytes(), ReadBytes(path).size());
}

TEST(TraceWriter, DoesNotTouchAFileThatExists) {
  ScratchDir dir;
  std::string path = dir / "file";
  WriteBytes(path, "something else");
  Result<TraceWriter> writer = TraceWriter::Create(path, "process");
  ASSERT_FALSE(writer.ok());
  EXPECT_EQ(writer.error().code, EEXIST);
  EXPECT_EQ(ReadBytes(path), "something else");
}

TEST(TraceWriter, RefusesAChunkLargerThanAReaderTakes) {
  ScratchDir dir;
  Result<TraceWriter> writer = TraceWriter::Create(dir / "file", "process");
  ASSERT_TRUE(writer.ok());
  EXPECT_FALSE(writer->Append(std::string(kMaxChunkBytes + 1, 'x'), 0, 0).ok());
  EXPECT_TRUE(writer->Append("next", 0, 0).ok());
  EXPECT_EQ(ReadFile(dir / "file").chunks.size(), 2u);
}

TEST(TraceWriter, LeavesNoFileWhereItCouldNotWriteTheFirstFrame) {
  ScratchDir dir;
  EXPECT_FALSE(TraceWriter::Create(dir / "file", std::string(kMaxChunkBytes + 1, 'x')).ok());
  EXPECT_NE(access((dir / "file").c_str(), F_OK), 0);
}

TEST(TraceWriter, ResumesAtEveryTruncatedLength) {
  ScratchDir dir;
  {
    Result<TraceWriter> writer = TraceWriter::Create(dir / "whole", "process");
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->Append("one", 1, 1).ok());
    ASSERT_TRUE(writer->Append("two", 2, 2).ok());
  }
  std::string whole = ReadBytes(dir / "whole");
  for (size_t size = 0; size <= whole.size(); ++size) {
    WriteBytes(dir / "cut", whole.substr(0, size));
    ReadTrace before = ReadFile(dir / "cut");
    Result<TraceWriter> writer = TraceWriter::Resume(dir / "cut");
    if (size < sizeof(TraceFileHeader)) {
      EXPECT_FALSE(writer.ok());
      continue;
    }
    ASSERT_TRUE(writer.ok()) << writer.error().text;
    ASSERT_TRUE(writer->Append("resumed", 3, 3).ok());
    ReadTrace after = ReadFile(dir / "cut");
    EXPECT_TRUE(after.damage.empty());
    before.chunks.push_back({"resumed", 3, 3});
    EXPECT_EQ(after.chunks, before.chunks);
    EXPECT_EQ(writer->cut_bytes() != 0, !before.damage.empty());
  }
}

TEST(TraceWriter, ResumesBehindADamagedFrame) {
  ScratchDir dir;
  {
    Result<TraceWriter> writer = TraceWriter::Create(dir / "file", "process");
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->Append("one", 1, 1).ok());
    ASSERT_TRUE(writer->Append("two", 2, 2).ok());
  }
  std::string bytes = ReadBytes(dir / "file");
  bytes[sizeof(TraceFileHeader) + sizeof(FrameHeader)] ^= 1;
  WriteBytes(dir / "file", bytes);
  Result<TraceWriter> writer = TraceWriter::Resume(dir / "file");
  ASSERT_TRUE(writer.ok());
  EXPECT_EQ(writer->cut_bytes(), 0u);
  ASSERT_TRUE(writer->Append("three", 3, 3).ok());
  EXPECT_EQ(ReadFile(dir / "file").chunks.size(), 3u);
}

TEST(TraceWriter, DoesNotGoOnWithAnotherKindOfFile) {
  ScratchDir dir;
  for (std::string bytes : {std::string("DDBGTRC1\2\0\0\0\1\0\0\0", 16), std::string("DDBGTRC1\1\0\0\0\3\0\0\0", 16),
                            std::string("#!/bin/sh\nexit 0\n")}) {
    WriteBytes(dir / "file", bytes);
    EXPECT_FALSE(TraceWriter::Resume(dir / "file").ok());
    EXPECT_EQ(ReadBytes(dir / "file"), bytes);
  }
}

TEST(TraceWriter, HasItsFileForItself) {
  ScratchDir dir;
  Result<TraceWriter> first = TraceWriter::Create(dir / "file", "process");
  ASSERT_TRUE(first.ok());
  Result<TraceWriter> second = TraceWriter::Resume(dir / "file");
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, EBUSY);
}

// Stands for a full disk: RLIMIT_FSIZE makes write() come back short, then fail.
TEST(TraceWriter, LeavesWholeFramesWhenAWriteFails) {
  ScratchDir dir;
  Result<TraceWriter> writer = TraceWriter::Create(dir / "file", "process");
  ASSERT_TRUE(writer.ok());
  std::mt19937 random(5);
  std::string noise(50'000, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  ASSERT_TRUE(writer->Append(noise, 1, 1).ok());

  signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small{writer->bytes() + 1000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  Result<void> failed = writer->Append(noise, 2, 2);
  setrlimit(RLIMIT_FSIZE, &before);

  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, EFBIG);
  EXPECT_EQ(ReadBytes(dir / "file").size(), writer->bytes());
  ASSERT_TRUE(writer->Append("after", 3, 3).ok());
  ReadTrace read = ReadFile(dir / "file");
  EXPECT_TRUE(read.damage.empty());
  ASSERT_EQ(read.chunks.size(), 3u);
  EXPECT_EQ(read.chunks[2].bytes, "after");
}

}  // namespace
}  // namespace ddbg
