// Finds copies that updates in loops make. If an array and its update are both needed, every trip
// copies all of the array, and the loop's time grows with the array's size. explain() lists them.
#pragma once

#include <string>
#include <vector>

#include "tessera/fusion/schedule.h"
#include "tessera/spmd/collective.h"

namespace tessera::compile {

struct UpdateCopy {
  enum class Reason : uint8_t {
    kReadAfterwards,  // something reads the array after its update is computed
    kConstant,        // every trip starts from the same array
    kEndsElsewhere,   // the update does not become the carry that the array is
  };
  std::string op;
  DType dtype;
  Shape shape;
  int64_t bytes = 0;   // copied in a trip
  int64_t trips = -1;  // of the innermost loop; -1 if a condition ends it
  Reason reason = Reason::kReadAfterwards;
};

// Returns the copies in the loops of the schedule (including nested loops and branches) that are
// large enough for a note: at least a mebibyte over all trips.
std::vector<UpdateCopy> copies_of_updates(const Schedule& schedule);

// Returns the note that explain() prints for the copy.
Note note_of(const UpdateCopy& copy);

}  // namespace tessera::compile
