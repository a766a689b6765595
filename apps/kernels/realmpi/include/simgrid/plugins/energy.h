#include "../../realmpi.h"
