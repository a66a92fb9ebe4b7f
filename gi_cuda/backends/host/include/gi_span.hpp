// libcu++'s span: a pointer and how much there is. The standard has one from C++20 on only.
#pragma once

namespace cuda {
namespace std {

inline constexpr size_t dynamic_extent = size_t(-1);

template <class T, size_t Extent = dynamic_extent>
class span {
 public:
  using element_type = T;
  using value_type = ::std::remove_cv_t<T>;
  using size_type = size_t;
  using difference_type = ptrdiff_t;
  using pointer = T *;
  using reference = T &;
  using iterator = T *;
  static constexpr size_t extent = Extent;

  constexpr span() = default;
  constexpr span(T *data, size_t size) : data_(data), size_(size) {}
  constexpr span(T *begin, T *end) : data_(begin), size_(size_t(end - begin)) {}
  template <size_t N>
  constexpr span(T (&items)[N]) : data_(items), size_(N) {}
  // Of anything that has data of this type, other spans among them.
  template <class Held, class = ::std::enable_if_t<::std::is_convertible_v<
                            ::std::remove_pointer_t<decltype(::std::data(::std::declval<Held &>()))> (*)[], T (*)[]>>>
  constexpr span(Held &&held) : data_(::std::data(held)), size_(::std::size(held)) {}

  constexpr T *data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr size_t size_bytes() const { return size_ * sizeof(T); }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T &operator[](size_t at) const { return data_[at]; }
  constexpr T &front() const { return data_[0]; }
  constexpr T &back() const { return data_[size_ - 1]; }
  constexpr T *begin() const { return data_; }
  constexpr T *end() const { return data_ + size_; }
  constexpr span<T> first(size_t many) const { return {data_, many}; }
  constexpr span<T> last(size_t many) const { return {data_ + (size_ - many), many}; }
  constexpr span<T> subspan(size_t from, size_t many = dynamic_extent) const {
    return {data_ + from, many == dynamic_extent ? size_ - from : many};
  }

 private:
  T *data_ = nullptr;
  size_t size_ = Extent == dynamic_extent ? 0 : Extent;
};

template <class T, size_t N>
span(T (&)[N]) -> span<T, N>;
template <class T>
span(T *, size_t) -> span<T>;

}  // namespace std
}  // namespace cuda
