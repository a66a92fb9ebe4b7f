// Overloaded operators: arithmetic, comparison, subscript, call, conversion, assignment, stream.
struct Complex {
    float re, im;
    __device__ Complex operator*(const Complex &o) const { Complex p; p.re = re * o.re - im * o.im; p.im = re * o.im + im * o.re; return p; }
    __device__ Complex &operator+=(const Complex &o) { re += o.re; im += o.im; return *this; }
    __device__ bool operator<(const Complex &o) const { return re < o.re; }
    __device__ explicit operator bool() const { return re != 0; }
    __device__ float operator[](int k) const { return k ? im : re; }
    __device__ float operator()(float x) const { return re + im * x; }
};
__device__ Complex operator+(const Complex &a, const Complex &b) { Complex c = a; c += b; return c; }
__device__ Complex operator*(float s, const Complex &a) { Complex c = a; c.re *= s; c.im *= s; return c; }
__device__ bool operator&&(const Complex &a, const Complex &b) { bool both = a.re != 0 && b.re != 0; return both; }
__device__ Complex operator-(const Complex &a) { Complex c; c.re = -a.re; c.im = -a.im; return c; }

__global__ void operators(Complex *out, const Complex *in, int n)
{
    int i = threadIdx.x;
    Complex z = in[i], c = in[0], t;
    float scale = 0.5f;
    t = z * z + c;
    z += scale * t;
    t = -z;
    if (z < c && i < n) out[i] = t;
    if (z && c) out[i] = c;
    if (t) z = c * t;
    scale = z[1] + t(scale);
    out[i].re = z[i & 1] - scale;
    out[i] += t + z;
}
