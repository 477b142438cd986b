/* SPDX-License-Identifier: Apache-2.0 */
/* The moment at which Python has run the program's script, and has not begun to free its objects.
 */
#ifndef MT_HOLDERS_SCRIPT_END_H
#define MT_HOLDERS_SCRIPT_END_H

/* Find holders at that moment, if the settings want it. code_type is PyCode_Type; NULL: there is no
 * Python. */
void mt_script_end_watch(const void *code_type);

#endif
