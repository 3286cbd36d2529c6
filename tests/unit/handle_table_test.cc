#include "shim/interpose/handle_table.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace ddbg::shim {
namespace {

TEST(HandleTable, FindsWhatWasInsertedUntilItIsRemoved) {
  HandleTable<int, 16> table;
  ASSERT_TRUE(table.Allocate());
  EXPECT_EQ(table.Find(0x44000000), nullptr);
  ASSERT_NE(table.Insert(0x44000000, 5), nullptr);
  ASSERT_NE(table.Find(0x44000000), nullptr);
  EXPECT_EQ(*table.Find(0x44000000), 5);
  table.Remove(0x44000000);
  EXPECT_EQ(table.Find(0x44000000), nullptr);
}

TEST(HandleTable, KeepsKeysApartWhenTheirBucketOverflows) {
  HandleTable<uint64_t, 16> table;
  ASSERT_TRUE(table.Allocate());
  std::vector<uint64_t> kept;
  for (uint64_t key = 8; key < 8 * 100; key += 8)
    if (table.Insert(key, key * 3)) kept.push_back(key);
  EXPECT_GT(kept.size(), 80u);
  for (uint64_t key : kept) {
    ASSERT_NE(table.Find(key), nullptr) << key;
    EXPECT_EQ(*table.Find(key), key * 3);
  }
  for (size_t i = 0; i < kept.size(); i += 2) table.Remove(kept[i]);
  for (size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(table.Find(kept[i]) != nullptr, i % 2 == 1) << i;
}

TEST(HandleTable, SaysSoWhenThereIsNoRoom) {
  HandleTable<int, 1> table;
  ASSERT_TRUE(table.Allocate());
  int inserted = 0;
  for (uint64_t key = 1; key <= 100; ++key) inserted += table.Insert(key, 1) != nullptr;
  EXPECT_EQ(inserted, 7);
}

TEST(HandleTable, ServesThreadsThatInsertAndRemoveTheirOwnKeys) {
  HandleTable<uint64_t, 256> table;
  ASSERT_TRUE(table.Allocate());
  std::vector<std::thread> threads;
  for (uint64_t n = 0; n < 4; ++n)
    threads.emplace_back([&, n] {
      for (uint64_t round = 0; round < 2000; ++round) {
        uint64_t key = ((n + 1) << 32) + round % 50 + 1;
        ASSERT_NE(table.Insert(key, key + round), nullptr);
        ASSERT_NE(table.Find(key), nullptr);
        ASSERT_EQ(*table.Find(key), key + round);
        table.Remove(key);
        ASSERT_EQ(table.Find(key), nullptr);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace ddbg::shim
