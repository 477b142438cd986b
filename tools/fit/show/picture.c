/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/new-file.h"
#include "plot.h"

int mt_fit_picture(const struct mt_fit *fit, const char *path)
{
    struct mt_new_file file;
    int rc = mt_new_file_open(&file, path, 0);
    struct mt_plot plot = {.out = rc ? NULL : mt_new_file_stream(&file), .fit = fit};
    if (!plot.out)
        return rc ? rc : mt_new_file_close(&file, NULL, 0);
    mt_svg_begin(plot.out, MT_PLOT_WIDTH, MT_PLOT_HEIGHT + MT_PLOT_ROW * (int)fit->job->n_variables,
                 "memtap fit");
    if (fit->job->n_lines == 1 && fit->job->searched >= 0)
        mt_plot_one_line(&plot);
    else if (fit->job->n_variables)
        mt_plot_lines(&plot);
    else
        mt_plot_cards(&plot);
    mt_svg_end(plot.out);
    return mt_new_file_close(&file, plot.out, 0);
}
