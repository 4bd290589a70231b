-- The entropy, in nats, of the shares of the items in all that is shown.
-- views: _exposure.sql
-- n of: catalogue
-- n: true
SELECT slice, sum(share * ln(1 / share)) FILTER (times > 0) AS value
FROM catalogue
GROUP BY slice
