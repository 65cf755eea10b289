// What all charts are drawn with: text that is safe in SVG and HTML, scales, shapes by class, and the colours of the classes.
//
// Charts name classes, never colours, so that one style serves pages and single files, in light and dark. A shape with a hint shows it
// when the pointer rests on it; that needs no script.
#pragma once

#include <string>
#include <vector>

namespace weft::charts {

// For text in SVG and HTML, between tags and in attributes.
std::string escaped(const std::string& text);

// Three significant digits, whatever the size: "0.0123", "4.56", "78900".
std::string short_number(double value);
std::string tick_words(double value);  // for axes: "0.5", "100"
std::string size_words(double bytes);  // "64 B", "1.5 MiB"

// How values lie on an axis. Powers count from their lowest whole power to their highest, so that both ends have a tick.
enum class scale { linear, powers_of_two, powers_of_ten };

// Values between the ends lie between the pixels `from` and `to`.
struct axis {
  charts::scale scale;
  double least, most, from, to;

  // Around all values; a linear axis begins at 0 unless there is less.
  static axis around(charts::scale scale, double lowest, double highest, double from, double to);
  double at(double value) const;

  struct tick {
    double value;
    bool labelled;
  };
  std::vector<tick> ticks() const;
};

// The part of a drawing that all charts have alike.
inline constexpr double chart_width = 920, chart_left = 84, chart_right = 690, chart_top = 54, legend_left = 710, legend_step = 24;
inline constexpr int series_colours = 9;  // classes f0 to f8 fill, l0 to l8 draw lines

// The class of a series' colour.
std::string colour(char kind, std::size_t number);

// A whole drawing of the given height around its shapes. It has a background and a style of its own, so that it can be a file.
std::string drawing(double height, const std::string& title, const std::string& shapes);

std::string text_at(double x, double y, const char* anchor, int size, const std::string& text, const char* classes = "");
std::string straight(double x1, double y1, double x2, double y2, const char* classes);
std::string box(double x, double y, double width, double height, const std::string& classes, const std::string& hint = {});
std::string hint(const std::string& text);  // inside a shape

// Grid lines and labels of a vertical axis on the left, and what it shows.
std::string left_axis(const axis& y, const std::string& label);

}  // namespace weft::charts
