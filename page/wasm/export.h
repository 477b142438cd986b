/* SPDX-License-Identifier: Apache-2.0 */
/* What the page may call. Texts and arrays that are given belong to this side and live until the next
 * call; objects are the page's. */
#ifndef MT_PAGE_EXPORT_H
#define MT_PAGE_EXPORT_H

#define EXPORT(name) __attribute__((export_name(name), visibility("default")))

#endif
