// Built-in vector types, their members and makers, read as wider words.
__device__ float4 blend(float4 a, float4 b, float t)
{
    float4 c;
    c.x = a.x + (b.x - a.x) * t;
    c.y = a.y + (b.y - a.y) * t;
    c.z = a.z * t;
    c.w = b.w;
    return c;
}

__global__ void vectors(float4 *out, const float4 *in, uint2 size, int3 origin, uchar4 *pixels)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= size.x || y >= size.y) return;
    float4 value = in[y * size.x + x], zero = make_float4(0.0f, 0.0f, 0.0f, 1.0f);
    float2 half_way = make_float2(value.x, value.y);
    int3 at = origin;
    uchar4 pixel = pixels[x];
    value = blend(value, zero, half_way.x);
    at.x += x;
    at.y = at.z - origin.y;
    pixel.x = (unsigned char)(value.w * 255.0f);
    pixel.w = pixel.x ^ pixel.y;
    if (at.x > at.y && pixel.z > 3) out[x] = zero;
    else out[x] = value;
    pixels[x] = pixel;
    out[y].w = reinterpret_cast<const float *>(in)[x] + half_way.y;
    dim3 extent(size.x, size.y);
    out[x].z = extent.x;
}
