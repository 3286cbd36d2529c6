#include "proto/trace_reader.h"

#include <gtest/gtest.h>

#include <random>

#include "proto/trace_format.h"
#include "tests/unit/scratch_dir.h"
#include "tests/unit/trace_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size);  // tests/fuzz/trace_reader_fuzz.cc

namespace ddbg {
namespace {

// A small file, its chunks, and where its frames begin and end.
struct SmallFile {
  std::string bytes;
  std::vector<ReadTrace::Chunk> chunks;
  std::vector<size_t> ends;  // of the file header and of each frame

  SmallFile() {
    ScratchDir dir;
    Result<TraceWriter> writer = TraceWriter::Create(dir / "file", "process packet");
    chunks.push_back({"process packet", 0, 0});
    ends = {sizeof(TraceFileHeader), writer->bytes()};
    for (int i = 1; i < 5; ++i) {
      chunks.push_back({std::string(static_cast<size_t>(i * 7), static_cast<char>('a' + i)), i * 1000, i * 1000 + 500});
      if (!writer->Append(chunks.back().bytes, chunks.back().t_min, chunks.back().t_max)) abort();
      ends.push_back(writer->bytes());
    }
    bytes = ReadBytes(dir / "file");
  }
};

bool Contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(TraceReader, ReadsEveryTruncatedLengthToTheLastWholeFrame) {
  SmallFile file;
  for (size_t size = 0; size < file.bytes.size(); ++size) {
    ReadTrace read = ReadFromMemory(std::string_view(file.bytes).substr(0, size));
    if (size < sizeof(TraceFileHeader)) {
      EXPECT_NE(read.refusal, "") << size;
      continue;
    }
    size_t whole = 0;
    while (file.ends[whole + 1] <= size) ++whole;
    std::vector<ReadTrace::Chunk> expected(file.chunks.begin(), file.chunks.begin() + static_cast<ptrdiff_t>(whole));
    EXPECT_EQ(read.chunks, expected) << size;
    if (size == file.ends[whole]) {
      EXPECT_TRUE(read.damage.empty()) << size;
    } else {
      ASSERT_EQ(read.damage.size(), 1u) << size;
      EXPECT_TRUE(Contains(read.damage[0], "truncated after frame " + std::to_string(whole) + " at byte " +
                                               std::to_string(file.ends[whole]) + ": the last " +
                                               std::to_string(size - file.ends[whole]) + " bytes"))
          << read.damage[0];
    }
  }
}

TEST(TraceReader, ReportsEveryFlippedByteAndReadsNothingWrong) {
  SmallFile file;
  for (size_t at = 0; at < file.bytes.size(); ++at) {
    for (int flip : {0x01, 0x80, 0xff}) {
      std::string damaged = file.bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      ReadTrace read = ReadFromMemory(damaged);
      EXPECT_TRUE(read.refusal != "" || !read.damage.empty()) << "byte " << at << " flip " << flip;
      EXPECT_TRUE(IsSubsequence(read.chunks, file.chunks)) << "byte " << at << " flip " << flip;
    }
  }
}

TEST(TraceReader, ReadsOnBehindADamagedFrame) {
  SmallFile file;
  for (size_t frame = 0; frame + 1 < file.ends.size(); ++frame) {
    std::string damaged = file.bytes;
    damaged[file.ends[frame + 1] - 1] ^= 1;
    ReadTrace read = ReadFromMemory(damaged);
    std::vector<ReadTrace::Chunk> expected = file.chunks;
    expected.erase(expected.begin() + static_cast<ptrdiff_t>(frame));
    EXPECT_EQ(read.chunks, expected);
    ASSERT_EQ(read.damage.size(), 1u);
    EXPECT_TRUE(Contains(read.damage[0], "frame " + std::to_string(frame + 1) + " at byte " +
                                             std::to_string(file.ends[frame]) + " is damaged"))
        << read.damage[0];
  }
}

TEST(TraceReader, StopsWhereALengthLeadsNowhere) {
  SmallFile file;
  std::string damaged = file.bytes;
  damaged[file.ends[2]] ^= 4;  // length of frame 3
  ReadTrace read = ReadFromMemory(damaged);
  EXPECT_EQ(read.chunks.size(), 2u);
  ASSERT_EQ(read.damage.size(), 1u);
  EXPECT_TRUE(Contains(read.damage[0], "frame 3 at byte")) << read.damage[0];
  EXPECT_TRUE(Contains(read.damage[0], "the last " + std::to_string(file.bytes.size() - file.ends[2]) + " bytes"))
      << read.damage[0];
}

TEST(TraceReader, PassesOverFramesOfOtherTypes) {
  SmallFile file;
  std::string bytes = file.bytes;
  FrameHeader header{5, 77, 0, 0, 0, 0};
  header.crc = FrameCrc(header, "hello");
  std::string other(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes.insert(file.ends[1], other + "hello");
  ReadTrace read = ReadFromMemory(bytes);
  EXPECT_EQ(read.chunks, file.chunks);
  EXPECT_TRUE(read.damage.empty());
}

TEST(TraceReader, RefusesWithOneSentenceWhatIsNoTrace) {
  ScratchDir dir;
  EXPECT_TRUE(Contains(ReadFile(dir / "missing").refusal, "No such file"));
  EXPECT_TRUE(Contains(ReadFile(dir.path()).refusal, "is not a file"));
  EXPECT_TRUE(Contains(ReadFromMemory("").refusal, "is empty"));
  EXPECT_TRUE(Contains(ReadFromMemory("DDB").refusal, "cut off within its header"));
  EXPECT_TRUE(Contains(ReadFromMemory("%PDF-1.7 and so on").refusal, "is not a ddbg trace"));
  EXPECT_TRUE(Contains(ReadFromMemory({"DDBGTRC1\2\0\0\0\1\0\0\0", 16}).refusal, "has trace format 2"));
  EXPECT_TRUE(Contains(ReadFromMemory({"DDBGTRC1\0\0\0\0\1\0\0\0", 16}).refusal, "has trace format 0"));
  EXPECT_TRUE(Contains(ReadFromMemory({"DDBGTRC1\1\0\0\0\3\0\0\0", 16}).refusal, "features"));
}

TEST(TraceReader, ReportsAChunkThatDoesNotDecompress) {
  SmallFile file;
  FrameHeader header{5, kChunkFrame, 0, 0, 0, 0};
  header.crc = FrameCrc(header, "hello");
  ReadTrace read =
      ReadFromMemory(file.bytes + std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + "hello");
  EXPECT_EQ(read.chunks, file.chunks);
  ASSERT_EQ(read.damage.size(), 1u);
  EXPECT_TRUE(Contains(read.damage[0], "frame 6")) << read.damage[0];
}

TEST(TraceReader, GoesOnWithAFileThatGrew) {
  ScratchDir dir;
  Result<TraceWriter> writer = TraceWriter::Create(dir / "file", "process");
  ASSERT_TRUE(writer.ok());
  Result<TraceReader> reader = TraceReader::Open(dir / "file");
  ASSERT_TRUE(reader.ok());
  TraceChunk chunk;
  EXPECT_TRUE(reader->Next(&chunk));
  EXPECT_FALSE(reader->Next(&chunk));
  ASSERT_TRUE(writer->Append("more", 1, 2).ok());
  ASSERT_TRUE(reader->Next(&chunk));
  EXPECT_EQ(chunk.bytes, "more");
  EXPECT_FALSE(reader->Next(&chunk));
  EXPECT_TRUE(reader->Damage().empty());
}

TEST(TraceReader, SkipsToTheLastWholeFrame) {
  SmallFile file;
  for (size_t torn : {0, 1, 31, 40}) {
    int fd = memfd_create("trace", MFD_CLOEXEC);
    std::string bytes = file.bytes + file.bytes.substr(file.ends[3], torn);
    ASSERT_EQ(write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    Result<TraceReader> reader = TraceReader::FromFd(fd, "trace");
    ASSERT_TRUE(reader.ok());
    reader->SkipToLastFrame();
    TraceChunk chunk;
    ASSERT_TRUE(reader->Next(&chunk)) << torn;
    EXPECT_EQ(chunk.bytes, file.chunks.back().bytes);
    EXPECT_FALSE(reader->Next(&chunk));
  }
}

// What the fuzzer does, for a bounded number of rounds: bytes flipped, cut out, doubled and overwritten.
TEST(TraceReader, SurvivesRandomMutations) {
  SmallFile file;
  std::mt19937_64 random(11);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = file.bytes;
    for (uint64_t i = 0, edits = 1 + random() % 6; i < edits && !bytes.empty(); ++i) {
      size_t at = random() % bytes.size();
      size_t size = std::min<size_t>(random() % 40, bytes.size() - at);
      switch (random() % 4) {
        case 0: bytes[at] = static_cast<char>(random()); break;
        case 1: bytes.erase(at, size); break;
        case 2: bytes.insert(at, bytes.substr(at, size)); break;
        case 3: std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(at), size, '\0'); break;
      }
    }
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    ReadTrace read = ReadFromMemory(bytes);
    for (const ReadTrace::Chunk& chunk : read.chunks) {
      EXPECT_NE(std::find(file.chunks.begin(), file.chunks.end(), chunk), file.chunks.end());
    }
  }
}

}  // namespace
}  // namespace ddbg
