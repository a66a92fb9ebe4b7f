#ifndef BLOCK
#define BLOCK 64
#endif
