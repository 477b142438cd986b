/* SPDX-License-Identifier: Apache-2.0 */
#include "draw.h"

#include <stdarg.h>
#include <string.h>

/* Write valid UTF-8. Each character takes one column. */
static void put(struct mt_pen *pen, const char *text)
{
    while (*text && pen->column < pen->columns && mt_pen_room(pen)) {
        size_t n = mt_utf8_length(text);
        n = n ? n : 1;
        fwrite(text, 1, n, pen->out);
        text += n;
        pen->column++;
    }
}

void mt_pen_put(struct mt_pen *pen, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put(pen, text);
}

void mt_pen_put_safe(struct mt_pen *pen, const char *text, unsigned columns, enum mt_cut cut)
{
    char safe[2048];
    unsigned room = pen->column < pen->columns ? pen->columns - pen->column : 0;
    if (!columns || columns > room)
        columns = room;
    if (!columns)
        return;
    mt_safe_text(safe, sizeof safe, text, columns, cut, pen->style);
    put(pen, safe);
}

void mt_pen_go_to(struct mt_pen *pen, unsigned column)
{
    while (pen->column < column && pen->column < pen->columns && mt_pen_room(pen))
        put(pen, " ");
}

void mt_pen_colour(struct mt_pen *pen, unsigned colour)
{
    if (mt_pen_room(pen))
        mt_colour(pen->out, pen->style, colour);
}

void mt_pen_bold(struct mt_pen *pen)
{
    if (mt_pen_room(pen) && pen->style->colour)
        fputs("\033[1m", pen->out);
}

void mt_pen_bar(struct mt_pen *pen, uint64_t part, uint64_t whole, unsigned columns)
{
    static const char *const eighth[] = {"",       "\u258f", "\u258e", "\u258d",
                                         "\u258c", "\u258b", "\u258a", "\u2589"};
    double share = whole ? (double)part / (double)whole : 0;
    unsigned units = (unsigned)((share < 1 ? share : 1) * columns * 8 + 0.5);
    if (!pen->style->utf8)
        units = (units + 4) / 8 * 8;
    for (unsigned i = 0; i < units / 8; i++)
        put(pen, pen->style->utf8 ? "\u2588" : "#");
    put(pen, eighth[units % 8]);
}

int mt_pen_end_line(struct mt_pen *pen)
{
    if (!mt_pen_room(pen))
        return 0;
    pen->row++;
    pen->column = 0;
    if (mt_pen_room(pen))
        putc('\n', pen->out);
    return mt_pen_room(pen) > 0;
}
