target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptx_kernel void @scale(ptr %in, ptr %out, i32 %n) {
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = mul i32 %block, %size
  %at = add i32 %first, %thread
  %inside = icmp slt i32 %at, %n
  br i1 %inside, label %do, label %end
do:
  %from = getelementptr i32, ptr %in, i32 %at
  %value = load i32, ptr %from
  %twice = shl i32 %value, 1
  %to = getelementptr i32, ptr %out, i32 %at
  store i32 %twice, ptr %to
  br label %end
end:
  ret void
}
