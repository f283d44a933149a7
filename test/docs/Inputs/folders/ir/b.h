#include "ir/base/a.h"
