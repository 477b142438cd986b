/* SPDX-License-Identifier: Apache-2.0 */
/* The iterations of a replayed run. */
#ifndef MT_REPLAY_NUMBER_H
#define MT_REPLAY_NUMBER_H

struct mt_replay;

/* Number the iterations, at the end: by ranges that are named so, or by the optimizer's steps and
 * the like; where there are none, by the turns of the program's loop. 0 or -ENOMEM. */
int mt_replay_number(struct mt_replay *replay);

/* Let the loop in turns be the one that iterations of training are in. */
void mt_replay_set_loop(struct mt_replay *replay);

#endif
