// Host code of all kinds beside a kernel.
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host_parts.h"

int Settings::level = 3;
std::vector<int> Settings::sizes = {1, 2, 3};
const char *Settings::name(int at) { return at ? "some" : "none"; }

static std::map<std::string, int> known = {{"a", 1}, {"b", 2}};
cudaStream_t stream, *streams = nullptr;

inline int least(int a, int b)
{
    return a < b ? a : b;
}

struct Span {
    int from, to;
    Span(int a, int b) : from(least(a, b)), to(a + b - least(a, b)) {}
};

__global__ void halve(float *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i] = 0.5f * a[i] + 1.0f;
}

__global__ void spread(Span *s, int n)
{
    printf("%d of %d\n", s->from, n);
}

#define LAUNCH(N)                        \
    do {                                 \
        halve                            \
            <<<(n + 255) / 256, N>>>(a,  \
                                     n); \
    } while (0)

static void run(float *a, int n)
{
    LAUNCH(256);
}

static const struct { const char *name; void (*run)(float *, int); } runners[] = {{"plain", run}};

class Owner {
public:
    explicit Owner(size_t n) : count(n) { cudaMalloc(&data, n * sizeof(float)); }
    ~Owner() { cudaFree(data); }
    void go() { runners[0].run(data, int(count)); }

private:
    size_t count;
    float *data = nullptr;
};

std::ostream &operator<<(std::ostream &out, const Span &span)
{
    return out << span.from << ".." << span.to;
}

int main(int argc, char **argv)
{
    auto parse = [argc](const std::string &text) { return argc > 1 ? std::stoi(text) : 1000; };
    try {
        Owner owner(parse(argv[1]));
        owner.go();
        std::cout << Span(2, 1) << known["a"] << std::endl;
    } catch (const std::exception &error) {
        std::cerr << error.what();
        return 1;
    }
}
