/* Formatting of every kind: ünïcödé comments, several statements on a line, odd breaks. */
#include <math.h>
#define SQ(x) ((x)*(x))
#define STEP i += 2; j--
#define SWAP(a, b) do { float t_ = (a); (a) = (b); (b) = t_; } while (0)
#define DECLARE(name) float name = 0.f;
#define BAIL if (n < 0) return
#define LONG_SUM(a, b) \
    ((a) + \
     (b))

__device__ float helper (float a , float b) { float r ; r = a ; r += b ; return r ; }

__global__
void
formats ( float * p , float*q, const float (*rows)[4], int n )
{ int i = 0, j = n; float a = 1.0f, b = 2.0f, c; int tid = threadIdx.x;
  c = a; a = b; b = c; /* Schöne Grüße */ c += 1; // weiß → gelb
  for(i=0;i<n;i++)for(j=0;j<n;j++)p[i]+=q[j];
  if(a<b)if(b<c)a=c;else b=c;
  if (a < b) if (b < c) a = c; else b = c; else c = a;
  if (a > b)   // trailing
      a = b;   /* block */ else
      b = a;
  p [ tid ] = helper ( a ,
                       b ) +
      SQ ( c ) // why
      * 2.0f ;
  DECLARE(declared)
  declared += a;
  STEP;
  BAIL;
  SWAP(a, b); SWAP(p[0], q[1]);
  do { i--; a *= 0.5f; } while (i > 0);
  do --j; while (j > 0 && a < b);
  while(j<3)j++;
  while (true) { j++; if (j > 10) break; a += LONG_SUM(a,
      b); }
  for (;;) { if (i++ > 5) break; else continue; }
  for ( int k = 0 , m = n ; k < m ; k ++ , m -- ) { p[k] = q[m]; }
  int left = 0, right = n;
  while (left < right) { int mid = (left + right) / 2; if (p[mid] < a) left = mid + 1; else right = mid; }
  { float a = 3.f; { int b = 2; a += b; p[b] = a; } a = 4.f; q[0] = a; }
  switch (n & 3) {
  case 0: a = 1;
  case 1: b = 2; break;
  case 2: { int c = 5; b += c; break; }
  case 3:
  default: c = 3;
  }
  if (n > 100) goto done;
  a = fmaxf(a, 0.f), b = fminf(b, 1.f);
again:
  n--;
  if (n > 50) goto again;
  else if (n > 40) { p[1] = 2; }
  else if (n > 30) { p[2] = 3; p[3] = 4; }
  else if (n > 20) p[4] = 5;
  else { for (int r = 0; r < 4; r++) { p[r] = rows[0][r]; } }
  asm volatile("membar.gl;" ::: "memory");
  { int lane; asm("mov.u32 %0, %%laneid;" : "=r"(lane)); p[lane] = a; }
done:
  p[0] = a + b + c + declared;
  if (tid) { } else { ; }
  if (tid == 3) ; else q[3] = 1;
  ;
}
