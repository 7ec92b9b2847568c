#include "tessera/mesh/text_grid.h"

#include <algorithm>
#include <string_view>

#include "tessera/base/error.h"
#include "tessera/mesh/format.h"

namespace tessera {
namespace {

int64_t length(const std::string& text) { return static_cast<int64_t>(text.size()); }

int64_t label_width(const GridCell& cell) {
  int64_t width = 0;
  for (const std::string& line : cell.lines) width = std::max(width, length(line));
  return width;
}

// Returns how many columns stay empty left of a line in a column of `width`. Text is centred in its
// box, and the box in its column; an odd space is on the right both times.
int64_t left_space(const GridCell& cell, int64_t line, int64_t width) {
  int64_t own = std::max<int64_t>(cell.width - line - 2, 0);
  if (own > width - line) return (width - line) / 2;  // the column has been shrunk
  return own / 2 + (width - own - line) / 2;
}

void draw_border(std::string& out, const std::vector<int64_t>& widths, std::string_view left,
                 std::string_view middle, std::string_view right) {
  out += left;
  for (size_t j = 0; j < widths.size(); ++j) {
    if (j) out += middle;
    for (int64_t i = 0; i < widths[j]; ++i) out += "─";
  }
  out += right;
  out += '\n';
}

void draw_row(std::string& out, const GridRow& row, const std::vector<int64_t>& widths) {
  int64_t height = 0;
  for (const GridCell& cell : row)
    height = std::max({height, cell.height - 1, static_cast<int64_t>(cell.lines.size())});
  for (int64_t i = 0; i < height; ++i) {
    out += "│";
    for (size_t j = 0; j < row.size(); ++j) {
      if (j) out += "│";
      const GridCell& cell = row[j];
      int64_t count = static_cast<int64_t>(cell.lines.size());
      int64_t index = i - (height - count) / 2;
      std::string_view line =
          index >= 0 && index < count ? std::string_view(cell.lines[index]) : "";
      int64_t size = static_cast<int64_t>(line.size());
      int64_t left = left_space(cell, size, widths[j]);
      out.append(left, ' ').append(line).append(widths[j] - left - size, ' ');
    }
    out += "│\n";
  }
}

}  // namespace

std::vector<int64_t> natural_widths(const std::vector<GridRow>& rows) {
  std::vector<int64_t> widths = label_widths(rows);
  for (const GridRow& row : rows)
    for (size_t j = 0; j < row.size(); ++j) widths[j] = std::max(widths[j], row[j].width - 2);
  return widths;
}

std::vector<int64_t> label_widths(const std::vector<GridRow>& rows) {
  std::vector<int64_t> widths(rows.empty() ? 0 : rows[0].size(), 0);
  for (const GridRow& row : rows)
    for (size_t j = 0; j < row.size(); ++j) widths[j] = std::max(widths[j], label_width(row[j]));
  return widths;
}

int64_t total_width(const std::vector<int64_t>& widths) {
  int64_t total = 1;
  for (int64_t width : widths) total += width + 1;
  return total;
}

std::vector<int64_t> shrunk_widths(std::vector<int64_t> widths, const std::vector<int64_t>& least,
                                   int64_t limit) {
  auto capped = [&](int64_t cap) {
    std::vector<int64_t> result = widths;
    for (size_t j = 0; j < result.size(); ++j)
      result[j] = std::min(result[j], std::max(cap, least[j]));
    return result;
  };
  if (widths.empty()) return widths;
  for (int64_t cap = *std::max_element(widths.begin(), widths.end()); cap > 0; --cap)
    if (auto result = capped(cap); total_width(result) <= limit) return result;
  return capped(0);
}

std::string draw_grid(const std::vector<GridRow>& rows, const std::vector<int64_t>& widths) {
  std::string out;
  draw_border(out, widths, "┌", "┬", "┐");
  for (size_t i = 0; i < rows.size(); ++i) {
    TESSERA_CHECK(rows[i].size() == widths.size());
    if (i) draw_border(out, widths, "├", "┼", "┤");
    draw_row(out, rows[i], widths);
  }
  draw_border(out, widths, "└", "┴", "┘");
  return out;
}

std::vector<std::string> wrap_at_commas(const std::string& text, int64_t width) {
  std::vector<std::string> lines(1);
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find(',', begin), text.size() - 1) + 1;
    std::string piece = text.substr(begin, end - begin);
    if (!lines.back().empty() && length(lines.back()) + length(piece) > width) {
      lines.emplace_back();
      piece.erase(0, piece.find_first_not_of(' '));
    }
    lines.back() += piece;
    begin = end;
  }
  return lines;
}

}  // namespace tessera
