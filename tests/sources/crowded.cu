// Everything on few lines.
__device__ int f(int a,int b){int c=a;c+=b;if(c>b)c-=b;else c+=b;for(int k=0;k<3;k++)c^=k;return c;} __device__ void g(int*p){p[0]++;p[1]--;*p=p[1];}
__global__ void crowded(int*out,const int*in,int n){int i=threadIdx.x,j=i+1;if(i<n){out[i]=in[i];out[j]=f(i,j);}else{out[0]=1;g(out);} for(int a=0,b=n;a<b;a++,b--)out[a]=in[b]; while(j>0&&i<n)j--,i++; do{i--;}while(i>0);out[n]=i?j:-i;if(!i)if(j)out[1]=2;else out[2]=3;{int i=4;out[i]=i;}switch(j){case 0:out[3]=1;break;default:out[4]=2;}}
