/*
 * A plugin of a later interface. Only its first field may be looked at: the rest is not what it
 * was.
 */
extern const int dopt_plugin[];
const int dopt_plugin[] = {999999, -1, -1, -1, -1, -1};
