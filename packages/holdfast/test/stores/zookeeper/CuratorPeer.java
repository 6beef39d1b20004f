import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.retry.RetryOneTime;

/** The real counterpart of the interop layout: one lock of Curator, told by lines on stdin what to do. */
public class CuratorPeer {
  public static void main(String[] args) throws Exception {
    int sessionMs = Integer.parseInt(args[2]);
    try (CuratorFramework client =
        CuratorFrameworkFactory.newClient(args[0], sessionMs, 10_000, new RetryOneTime(100))) {
      client.start();
      client.blockUntilConnected();
      InterProcessMutex mutex =
          switch (args[3]) {
            case "read" -> new InterProcessReadWriteLock(client, args[1]).readLock();
            case "write" -> new InterProcessReadWriteLock(client, args[1]).writeLock();
            default -> new InterProcessMutex(client, args[1]);
          };
      mutex.makeRevocable(forLock -> System.out.println("asked to release"));
      System.out.println("ready");
      BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        switch (line) {
          case "acquire":
            mutex.acquire();
            System.out.println("acquired");
            break;
          case "try":
            System.out.println(mutex.acquire(200, TimeUnit.MILLISECONDS) ? "acquired" : "busy");
            break;
          case "release":
            mutex.release();
            System.out.println("released");
            break;
          default:
            System.out.println("what?");
        }
      }
    }
  }
}
