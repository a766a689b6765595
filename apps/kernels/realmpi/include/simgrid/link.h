#include "../realmpi.h"
