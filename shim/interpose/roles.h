// What each argument of a wrapped function is, from its row in the call tables: decided at compile time.
#pragma once

#include <array>
#include <cstddef>

#include "proto/call.h"

namespace ddbg::shim {

template <class... R>
constexpr auto MakeRoles(R... roles) {
  return std::array<Role, sizeof...(R)>{roles...};
}

// By call of any table; each family specialises it by its rows (DDBG_ROLES).
template <auto kCall>
inline constexpr auto kRoles = std::array<Role, 0>{};

#define DDBG_ROLES(call, ...)                 \
  template <>                                 \
  inline constexpr auto kRoles<call> = []() { \
    using enum Role;                          \
    return MakeRoles(__VA_ARGS__);            \
  }();

// Index of the first argument with `role`, -1 if there is none.
template <auto kCall>
constexpr int IndexOf(Role role) {
  for (size_t i = 0; i < kRoles<kCall>.size(); ++i)
    if (kRoles<kCall>[i] == role) return static_cast<int>(i);
  return -1;
}

template <auto kCall>
constexpr bool Has(Role role) {
  return IndexOf<kCall>(role) >= 0;
}

template <auto kCall>
inline constexpr const CallInfo& kInfo = kCalls[CallIndex(kCall)];

}  // namespace ddbg::shim
