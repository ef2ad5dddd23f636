#pragma once

#include <curl/curl.h>
#include <pthread.h>

// curl_easy_setopt, curl_easy_getinfo and curl_multi_setopt are variadic, which Swift cannot call;
// one function for each kind of argument.
static inline CURLcode alongside_curl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode alongside_curl_set_size(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode alongside_curl_set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode alongside_curl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

typedef size_t (*alongside_curl_sink)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode alongside_curl_set_sink(
    CURL *easy, CURLoption option, alongside_curl_sink sink
) {
    return curl_easy_setopt(easy, option, sink);
}

static inline CURLcode alongside_curl_get_long(CURL *easy, CURLINFO info, long *value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode alongside_curl_get_pointer(CURL *easy, CURLINFO info, void **value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode alongside_curl_get_socket(CURL *easy, CURLINFO info, curl_socket_t *value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLMcode alongside_curl_multi_set_long(CURLM *multi, CURLMoption option, long value)
{
    return curl_multi_setopt(multi, option, value);
}

// CURLMsg keeps the result in a union.
static inline CURLcode alongside_curl_result(const CURLMsg *message) {
    return message->data.result;
}
