/* The program of ph-2000's processes, linked dynamically. */
#include <stdio.h>

int main(void)
{
    puts("hello, world");
    return 0;
}
