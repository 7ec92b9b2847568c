// Copies that updates in loops make: if an array and its update are both needed, every trip copies
// all of the array, and the loop's time grows with its size. explain() lists them.
#pragma once

#include <string>
#include <vector>

#include "tessera/fusion/schedule.h"
#include "tessera/spmd/collective.h"

namespace tessera::compile {

struct UpdateCopy {
  enum class Reason : uint8_t {
    kReadAfterwards,  // something reads the array once its update is there
    kConstant,        // every trip starts from the same array
    kEndsElsewhere,   // the update is not the carry that the array is
  };
  std::string op;
  DType dtype;
  Shape shape;
  int64_t bytes = 0;   // copied in a trip
  int64_t trips = -1;  // of the innermost loop; -1: a condition ends it
  Reason reason = Reason::kReadAfterwards;
};

// Returns the copies in the loops of the schedule, including nested loops and branches, that are
// large enough for a note: a mebibyte over all trips.
std::vector<UpdateCopy> copies_of_updates(const Schedule& schedule);

// Returns the note that explain() prints for it.
Note note_of(const UpdateCopy& copy);

}  // namespace tessera::compile
