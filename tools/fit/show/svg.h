/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of an SVG, in pixels from its upper left corner. */
#ifndef MT_FIT_SVG_H
#define MT_FIT_SVG_H

#include <stdio.h>

enum mt_svg_anchor { MT_SVG_START, MT_SVG_MIDDLE, MT_SVG_END };

void mt_svg_begin(FILE *out, int width, int height, const char *title);
void mt_svg_end(FILE *out);
void mt_svg_line(FILE *out, double x1, double y1, double x2, double y2, const char *colour,
                 double width);
void mt_svg_dashes(FILE *out, double x1, double y1, double x2, double y2, const char *colour);
void mt_svg_box(FILE *out, double x, double y, double width, double height, const char *fill,
                const char *stroke);

/* With a text that shows when one points at it. */
void mt_svg_dot(FILE *out, double x, double y, const char *colour, const char *title);
void mt_svg_cross(FILE *out, double x, double y, const char *colour, const char *title);

/* degrees: turned by so many around its begin. */
void mt_svg_text(FILE *out, double x, double y, enum mt_svg_anchor anchor, int degrees,
                 const char *colour, const char *text);

/* Colours that differ, by number. */
const char *mt_svg_colour(size_t i);

/* A round number of which about five make `most`. */
double mt_svg_tick(double most);

#endif
