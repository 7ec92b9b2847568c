// Output of a private run for people: a line of progress, and a page of curves. trainer.h uses it.
#pragma once

#include <string>

#include "tessera/io/file_path.h"
#include "tessera/privacy/trainer_step.h"

namespace tessera::privacy::internal {

std::string progress_line(const Plan& plan, const StepReport& report);

// Returns a page of HTML that contains SVG and loads nothing else. trainer_step.h explains
// `history`.
std::string report_page(const Plan& plan, const Array& history, int64_t steps_done,
                        int64_t non_finite);
void write_report(const FilePath& path, const Plan& plan, const Array& history, int64_t steps_done,
                  int64_t non_finite);

}  // namespace tessera::privacy::internal
