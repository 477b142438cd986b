/* SPDX-License-Identifier: Apache-2.0 */
/* Outcomes of the runs so far. */
#include "fit.h"

const struct mt_outcome *mt_fit_outcome(const struct mt_fit *fit, size_t line, size_t card,
                                        size_t position)
{
    for (size_t i = fit->n_attempts; i-- > 0;) {
        const struct mt_attempt *attempt = &fit->attempt[i];
        if (attempt->choice.line == line && attempt->choice.at == position && !attempt->keeper &&
            !attempt->is_trial && (attempt->is_huge ? card == MT_ANY_ROOM : card == attempt->card))
            return attempt->outcome;
    }
    const struct mt_line_ranks *ranks = &fit->line[line].ranks;
    return card == MT_ANY_ROOM && ranks->is_found && ranks->at == position
               ? ranks->kinds.kind->first->outcome
               : NULL;
}

unsigned mt_fit_runs(const struct mt_fit *fit, size_t line, size_t card)
{
    return mt_fit_search(fit, line, card)->runs + fit->line[line].n_over;
}
