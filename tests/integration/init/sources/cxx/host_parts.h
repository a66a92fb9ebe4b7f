#pragma once
#include <string>
#include <vector>
struct Settings {
    static int level;
    static std::vector<int> sizes;
    static const char *name(int at);
};
inline void forget(cudaGraph_t graph, cudaGraphExec_t instance)
{
    cudaGraphExecDestroy(instance);
    cudaGraphDestroy(graph);
}
