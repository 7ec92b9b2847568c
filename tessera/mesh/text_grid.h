// A grid of labelled boxes in box-drawing characters, with which sharding_table draws.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

struct GridCell {
  std::vector<std::string> lines;  // ASCII, centred in the box
  // The width of the box, its borders included; the box grows if its lines need more.
  int64_t width = 0;
  int64_t height = 0;
};
using GridRow = std::vector<GridCell>;

// Returns the widths that the columns need without shrinking, borders not included.
std::vector<int64_t> natural_widths(const std::vector<GridRow>& rows);
// Returns the length of the longest line in each column.
std::vector<int64_t> label_widths(const std::vector<GridRow>& rows);
// Returns the width of a line of the grid, borders included.
int64_t total_width(const std::vector<int64_t>& widths);
// Returns `widths` with the widest ones reduced evenly until the grid is at most `limit` wide. No
// width becomes less than its entry in `least`, so the grid stays wider than `limit` if those are
// too wide.
std::vector<int64_t> shrunk_widths(std::vector<int64_t> widths, const std::vector<int64_t>& least,
                                   int64_t limit);
// Returns the drawing, with a newline after each line. All rows have the same length.
std::string draw_grid(const std::vector<GridRow>& rows, const std::vector<int64_t>& widths);

// Returns `text` in lines of at most `width` characters, broken only after commas.
std::vector<std::string> wrap_at_commas(const std::string& text, int64_t width);

}  // namespace tessera
