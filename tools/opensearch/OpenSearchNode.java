import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

import org.opensearch.analysis.common.CommonAnalysisPlugin;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.http.HttpServerTransport;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.painless.PainlessPlugin;
import org.opensearch.plugins.Plugin;
import org.opensearch.transport.Netty4Plugin;

/**
 * A node of OpenSearch on 127.0.0.1 without security, for tests. Its arguments are its folder, and then settings as key=value. It
 * prints "http PORT" when it answers. It ends when its standard input does, so that it never outlives its test.
 */
public final class OpenSearchNode extends Node {
    private OpenSearchNode(Environment environment, List<Class<? extends Plugin>> plugins) {
        super(environment, plugins, true);
    }

    public static void main(String[] args) throws Exception {
        Path home = Path.of(args[0]).toAbsolutePath();
        Files.createDirectories(home.resolve("config"));
        Settings.Builder settings = Settings.builder()
            .put("path.home", home)
            .put("path.data", home.resolve("data"))
            .put("cluster.name", "test")
            .put("node.name", "test")
            .put("discovery.type", "single-node")
            .put("network.host", "127.0.0.1")
            .put("http.port", "0")
            .put("transport.port", "0")
            .put("http.type", "netty4")
            .put("transport.type", "netty4")
            .put("cluster.info.update.interval", "10s"); // the least: how soon a full disk is noticed
        for (int i = 1; i < args.length; i++) {
            String[] setting = args[i].split("=", 2);
            settings.put(setting[0], setting[1]);
        }
        Environment environment = InternalSettingsPreparer.prepareEnvironment(settings.build(), Map.of(), null, () -> "test");
        List<Class<? extends Plugin>> plugins = List.of(Netty4Plugin.class, CommonAnalysisPlugin.class, PainlessPlugin.class);
        try (Node node = new OpenSearchNode(environment, plugins).start()) {
            HttpServerTransport http = node.injector().getInstance(HttpServerTransport.class);
            System.out.println("http " + http.boundAddress().publishAddress().getPort());
            while (System.in.read() != -1) {
                // nothing is read
            }
        }
        System.exit(0);
    }
}
