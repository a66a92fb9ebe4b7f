#pragma once
template <class T> struct Shared {
    __device__ inline operator T *()
    {
        extern __shared__ int raw[];
        return (T *)raw;
    }
};
template <> struct Shared<double> {
    __device__ inline operator double *()
    {
        extern __shared__ double wide[];
        return (double *)wide;
    }
};
