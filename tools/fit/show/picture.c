/* SPDX-License-Identifier: Apache-2.0 */
#include "plot.h"

#include <errno.h>

int mt_fit_picture(const struct mt_fit *fit, const char *path)
{
    struct mt_plot plot = {.out = fopen(path, "we"), .fit = fit};
    if (!plot.out)
        return -errno;
    mt_svg_begin(plot.out, MT_PLOT_WIDTH, MT_PLOT_HEIGHT + MT_PLOT_ROW * (int)fit->job->n_variables,
                 "memtap fit");
    if (fit->job->n_lines == 1 && fit->job->searched >= 0)
        mt_plot_one_line(&plot);
    else if (fit->job->n_variables)
        mt_plot_lines(&plot);
    else
        mt_plot_cards(&plot);
    mt_svg_end(plot.out);
    int failed = ferror(plot.out);
    return fclose(plot.out) || failed ? -EIO : 0;
}
