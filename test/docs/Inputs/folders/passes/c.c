#include "b.h"
#include "ir/b.h"
#include <stdio.h>
