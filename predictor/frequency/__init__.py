"""At which frequency the nodes of each cluster should run: time and energy of every choice, and the best one."""
