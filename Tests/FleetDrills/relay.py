"""Carries TCP connections on with a delay each way: relay.py LISTEN_HOST LISTEN_PORT HOST PORT.

Lines on standard input are the delay in milliseconds from then on; the end of the input ends the relay. For kernels without netem.
"""
import asyncio
import sys

delay = 0.0


async def carry(reader, writer):
    """Hands on what comes, each piece when it is due and all in order."""
    pieces = asyncio.Queue()

    async def write():
        while (piece := await pieces.get()) is not None:
            await asyncio.sleep(max(0, piece[0] - asyncio.get_running_loop().time()))
            writer.write(piece[1])
            await writer.drain()
        writer.close()

    task = asyncio.create_task(write())
    try:
        while data := await reader.read(65536):
            await pieces.put((asyncio.get_running_loop().time() + delay, data))
    except ConnectionError:
        pass
    await pieces.put(None)
    try:
        await task
    except ConnectionError:
        pass


async def main():
    global delay
    host, port, target, target_port = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])

    async def accept(reader, writer):
        try:
            other_reader, other_writer = await asyncio.open_connection(target, target_port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(carry(reader, other_writer), carry(other_reader, writer))

    await asyncio.start_server(accept, host, port)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        delay = float(line) / 1000


asyncio.run(main())
