// Is a row of a call table as long as the function's real prototype, and of the same types where its roles tell?
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "proto/call.h"

namespace ddbg::conformance {

// A parameter's words in a wrapper: dim3 takes two; a structure of more than 16 bytes is no word, and its row has one
// for it.
template <class P>
constexpr size_t kWords = sizeof(P) <= 8 || sizeof(P) > 16 ? 1 : 2;

template <class P, class... T>
constexpr bool kIs = (std::is_same_v<P, T> || ...);

template <class P>
constexpr bool kIsInteger32 = (std::is_integral_v<P> || std::is_enum_v<P>)&&sizeof(P) == 4;

// Specialised by each API: may a parameter of type P have this role?
template <class P>
constexpr bool Suits(Role role);

template <class Function>
struct Prototype;

template <class R, class... P>
struct Prototype<R (*)(P...)> {
  static constexpr size_t kCount = (kWords<P> + ... + size_t{0});

  template <size_t kRoles>
  static constexpr bool Agrees(const Role (&roles)[kRoles], size_t count) {
    if (sizeof(R) > 8 || count != kCount) return false;
    size_t word = 0;
    bool agrees = true;
    [[maybe_unused]] auto one = [&]<class Q>(std::type_identity<Q>) {
      for (size_t i = 0; i < kWords<Q>; ++i, ++word)
        agrees = agrees && (roles[word] == Role::Skip || Suits<Q>(roles[word]));
    };
    (one(std::type_identity<P>{}), ...);
    return agrees;
  }
};

// One more than the row has, since an array of none is no array.
#define DDBG_CHECK_ROW(name, ...)                                                                                 \
  static_assert(                                                                                                  \
      []() {                                                                                                      \
        using enum ddbg::Role;                                                                                    \
        constexpr ddbg::Role kRow[] = {__VA_ARGS__ __VA_OPT__(, ) Skip};                                          \
        return ddbg::conformance::Prototype<decltype(&::name)>::Agrees(kRow, sizeof(kRow) / sizeof(kRow[0]) - 1); \
      }(),                                                                                                        \
      "the row of " #name " is not its prototype");

}  // namespace ddbg::conformance
