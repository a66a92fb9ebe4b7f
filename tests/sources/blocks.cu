// Odd but legal: empty statements, bare blocks, attributes, alternative tokens, nested ternaries, odd casts.
__global__ void blocks(int *out, const int *in, int n) {
    ;;
    int i = threadIdx.x; ; { ; } {{ out[i] = 0; }}
    [[maybe_unused]] int spare = in[0];
    if (i < n and not (in[i] == 0 or n <= 2)) out[i] = in[i] bitand 3;
    out[i] = i < 2 ? in[0] : i < 4 ? in[1] : i < 6 ? in[2] : in[3];
    (out[0]) = (((i)));
    +i; (void)n;
    out[1] = -(-i) + + +n - (-1) * ~-n;
    *&out[2] = *(&in[0] + 1);
    3 < i ? out[3]++ : --out[4];
    if ((i)) {} else {}
    for (;;) { break; }
    if (i) [[likely]] { out[5] = 1; }
    out[6] = sizeof i + sizeof(int) * alignof(int) + i*2/3%4<<1;
    i = i+++n; i = n- -i;
    out[i&7]=!i==n;
    try_again: if (!i--) out[7] = 2;
    if (i > 100) goto try_again;
}
