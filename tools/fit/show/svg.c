/* SPDX-License-Identifier: Apache-2.0 */
#include "svg.h"
#include "analyzer/support/text.h"

#include <math.h>

void mt_svg_begin(FILE *out, int width, int height, const char *title)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" "
            "font-family=\"system-ui, sans-serif\" font-size=\"12\" role=\"img\">\n<title>",
            width, height, width, height);
    mt_put_text(out, title, MT_FOR_XML);
    fprintf(out, "</title>\n<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", width, height);
}

void mt_svg_end(FILE *out)
{
    fputs("</svg>\n", out);
}

void mt_svg_line(FILE *out, double x1, double y1, double x2, double y2, const char *colour,
                 double width)
{
    fprintf(out,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
            "stroke-width=\"%.1f\"/>\n",
            x1, y1, x2, y2, colour, width);
}

void mt_svg_dashes(FILE *out, double x1, double y1, double x2, double y2, const char *colour)
{
    fprintf(out,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
            "stroke-dasharray=\"4 3\"/>\n",
            x1, y1, x2, y2, colour);
}

void mt_svg_box(FILE *out, double x, double y, double width, double height, const char *fill,
                const char *stroke)
{
    fprintf(
        out,
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\" stroke=\"%s\"/>\n",
        x, y, width, height, fill, stroke);
}

static void put_title(FILE *out, const char *title)
{
    fputs("<title>", out);
    mt_put_text(out, title, MT_FOR_XML);
    fputs("</title>", out);
}

void mt_svg_dot(FILE *out, double x, double y, const char *colour, const char *title)
{
    fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\">", x, y, colour);
    put_title(out, title);
    fputs("</circle>\n", out);
}

void mt_svg_cross(FILE *out, double x, double y, const char *colour, const char *title)
{
    fprintf(out,
            "<path d=\"M%.1f %.1fl8 8m0 -8l-8 8\" stroke=\"%s\" stroke-width=\"2\" fill=\"none\">",
            x - 4, y - 4, colour);
    put_title(out, title);
    fputs("</path>\n", out);
}

void mt_svg_text(FILE *out, double x, double y, enum mt_svg_anchor anchor, int degrees,
                 const char *colour, const char *text)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\"", x, y,
            anchors[anchor], colour);
    if (degrees)
        fprintf(out, " transform=\"rotate(%d %.1f %.1f)\"", degrees, x, y);
    fputc('>', out);
    mt_put_text(out, text, MT_FOR_XML);
    fputs("</text>\n", out);
}

const char *mt_svg_colour(size_t i)
{
    static const char *const colours[] = {"#1f6fb4", "#c2571a", "#2a8a4a", "#9a3fa0", "#8a6d00",
                                          "#b3243f", "#00808a", "#5a5ac8", "#6b6b6b"};
    return colours[i % (sizeof colours / sizeof *colours)];
}

double mt_svg_tick(double most)
{
    double unit = pow(10, floor(log10(most > 0 ? most / 5 : 1))), steps = most / 5 / unit;
    return unit * (steps < 1.5 ? 1 : steps < 3.5 ? 2 : steps < 7.5 ? 5 : 10);
}
