#include "placeholder.h"
