// Who is wrong where as many members say one thing as say another.
#pragma once

#include <string>
#include <vector>

#include "analyzer/context/context.h"

namespace ddbg::analyzer {

struct Vote {
  size_t member;  // index into CommGroup::members
  std::string value;
};

struct Split {
  std::string reference;  // majority's value; "" on a tie
  std::vector<size_t> minority;
  bool tie = false;
};

// Settles a tie at `seq` over `field` ("call", "root", "op", "count", …) if the same call tells elsewhere: in a
// communicator that was made beside this one, or on the same line in an earlier turn of a loop, where only one side's
// value was ever seen. Leaves `split` as it is otherwise.
void BreakTie(Context& context, const CommGroup& group, size_t seq, const std::string& field,
              const std::vector<Vote>& votes, Split* split);

}  // namespace ddbg::analyzer
