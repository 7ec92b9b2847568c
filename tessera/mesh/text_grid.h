// A grid of labelled boxes in box-drawing characters: the drawing part of sharding_table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

struct GridCell {
  std::vector<std::string> lines;  // ASCII, centred in the box
  // Of the box, its borders included; it grows where the lines need more.
  int64_t width = 0;
  int64_t height = 0;
};
using GridRow = std::vector<GridCell>;

// Widths of the columns without borders, at the cells' own widths.
std::vector<int64_t> natural_widths(const std::vector<GridRow>& rows);
// The widest lines of each column.
std::vector<int64_t> label_widths(const std::vector<GridRow>& rows);
// Of a line of the grid, borders included.
int64_t total_width(const std::vector<int64_t>& widths);
// Reduces the widest of `widths` evenly until the grid is at most `limit` wide, none below its
// `least`; the widths may stay above the limit where the least widths do.
std::vector<int64_t> shrunk_widths(std::vector<int64_t> widths, const std::vector<int64_t>& least,
                                   int64_t limit);
// The drawing, a newline after each line. Rows have one length.
std::string draw_grid(const std::vector<GridRow>& rows, const std::vector<int64_t>& widths);

// `text` in lines of at most `width` characters, broken after commas only.
std::vector<std::string> wrap_at_commas(const std::string& text, int64_t width);

}  // namespace tessera
